#ifndef TOOLSHED_WINDOW_H
#define TOOLSHED_WINDOW_H

// What the window needs of GTK and WebKit beyond the window library. Every function may be called on any thread.

// window_end_dialogs answers every dialog that is open with no.
void window_end_dialogs(void);

// window_downloads is the person's folder for what was downloaded, or NULL. It is not the caller's to free.
const char *window_downloads(void);

#endif
