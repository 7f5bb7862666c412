#ifndef TOOLSHED_WINDOW_H
#define TOOLSHED_WINDOW_H

// What the window needs of GTK and WebKit beyond the window library. Every function may be called on any thread.

// window_end_dialogs answers every dialog that is open with no.
void window_end_dialogs(void);

// window_downloads is the person's folder for what was downloaded, or NULL. It is not the caller's to free.
const char *window_downloads(void);

// What the person does with keys that neither the page nor a frame has taken: windowCommandFromC is called with it.
enum {
  COMMAND_ZOOM_IN = 1,
  COMMAND_ZOOM_OUT,
  COMMAND_ZOOM_USUAL,
  COMMAND_FULL_SCREEN,
};

// window_begin arranges that windowBeginsFromC is called with the screens once the window is there, and from then on
// windowStandsFromC after each change of its place. Called once, before the main loop runs.
void window_begin(int least_width, int least_height);

// window_place puts the window somewhere. For the main thread only.
void window_place(int x, int y, int width, int height, int maximised);

void window_zoom(int per_cent);
void window_toggle_full_screen(void);

#endif
