//go:build desktop && linux

#include "window_linux.h"

#include <gtk/gtk.h>

#include "harden_linux.h"

static gboolean end_dialogs(gpointer unused) {
  (void)unused;
  GList *windows = gtk_window_list_toplevels();
  for (GList *w = windows; w; w = w->next)
    if (GTK_IS_DIALOG(w->data)) gtk_dialog_response(GTK_DIALOG(w->data), GTK_RESPONSE_CANCEL);
  g_list_free(windows);
  return G_SOURCE_REMOVE;
}

void window_end_dialogs(void) { g_idle_add_full(G_PRIORITY_HIGH, end_dialogs, NULL, NULL); }

const char *window_downloads(void) { return g_get_user_special_dir(G_USER_DIRECTORY_DOWNLOAD); }
