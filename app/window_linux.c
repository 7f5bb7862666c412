//go:build desktop && linux

#include "window_linux.h"

#include <gtk/gtk.h>
#include <webkit2/webkit2.h>

#include "_cgo_export.h"
#include "harden_linux.h"

static GtkWindow *the_window(void) {
  WebKitWebView *view = the_web_view();
  return view ? GTK_WINDOW(gtk_widget_get_toplevel(GTK_WIDGET(view))) : NULL;
}

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

// Screens are told as their working areas, four numbers each, the main one first.
enum { MOST_SCREENS = 16 };

static int screens(int *numbers) {
  GdkDisplay *display = gdk_display_get_default();
  GdkMonitor *primary = gdk_display_get_primary_monitor(display);
  int n = 0;
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < gdk_display_get_n_monitors(display) && n < MOST_SCREENS; i++) {
      GdkMonitor *monitor = gdk_display_get_monitor(display, i);
      if ((monitor == primary) != (round == 0)) continue;
      GdkRectangle area;
      gdk_monitor_get_workarea(monitor, &area);
      int *four = numbers + 4 * n++;
      four[0] = area.x, four[1] = area.y, four[2] = area.width, four[3] = area.height;
    }
  return n;
}

static GdkWindowState state_of(GtkWidget *window) {
  GdkWindow *inner = gtk_widget_get_window(window);
  return inner ? gdk_window_get_state(inner) : GDK_WINDOW_STATE_WITHDRAWN;
}

// A window that is maximised, fills the screen or is away has no place of its own, and keeps the last.
static gboolean on_stands(GtkWidget *window, GdkEvent *event, gpointer unused) {
  (void)event, (void)unused;
  GdkWindowState state = state_of(window);
  if (state & (GDK_WINDOW_STATE_WITHDRAWN | GDK_WINDOW_STATE_ICONIFIED | GDK_WINDOW_STATE_FULLSCREEN)) return FALSE;
  int x, y, width, height, numbers[4 * MOST_SCREENS];
  gtk_window_get_position(GTK_WINDOW(window), &x, &y);
  gtk_window_get_size(GTK_WINDOW(window), &width, &height);
  int n = screens(numbers);
  windowStandsFromC(x, y, width, height, !!(state & GDK_WINDOW_STATE_MAXIMIZED), numbers, n);
  return FALSE;
}

// Connected after GTK's own handler, which offers a key to the page first: this one sees what nobody took.
static gboolean on_key(GtkWidget *window, GdkEventKey *event, gpointer unused) {
  (void)window, (void)unused;
  guint held = event->state & (GDK_CONTROL_MASK | GDK_MOD1_MASK | GDK_SUPER_MASK | GDK_META_MASK);
  int command = 0;
  if (held == 0 && event->keyval == GDK_KEY_F11) command = COMMAND_FULL_SCREEN;
  if (held == GDK_CONTROL_MASK) switch (event->keyval) {
      case GDK_KEY_plus:
      case GDK_KEY_equal:
      case GDK_KEY_KP_Add: command = COMMAND_ZOOM_IN; break;
      case GDK_KEY_minus:
      case GDK_KEY_KP_Subtract: command = COMMAND_ZOOM_OUT; break;
      case GDK_KEY_0:
      case GDK_KEY_KP_0: command = COMMAND_ZOOM_USUAL; break;
    }
  if (command) windowCommandFromC(command);
  return command != 0;
}

static GdkGeometry least;

static gboolean begin(gpointer unused) {
  (void)unused;
  GtkWindow *window = the_window();
  if (!window) return G_SOURCE_REMOVE;
  gtk_window_set_geometry_hints(window, NULL, &least, GDK_HINT_MIN_SIZE);
  int numbers[4 * MOST_SCREENS];
  int n = screens(numbers);
  windowBeginsFromC(numbers, n);
  g_signal_connect(window, "configure-event", G_CALLBACK(on_stands), NULL);
  g_signal_connect(window, "window-state-event", G_CALLBACK(on_stands), NULL);
  g_signal_connect_after(window, "key-press-event", G_CALLBACK(on_key), NULL);
  return G_SOURCE_REMOVE;
}

void window_begin(int least_width, int least_height) {
  least.min_width = least_width, least.min_height = least_height;
  // The window library puts the window in the middle of the screen by an idle source: this one comes after it.
  g_idle_add_full(G_PRIORITY_DEFAULT_IDLE + 10, begin, NULL, NULL);
}

void window_place(int x, int y, int width, int height, int maximised) {
  GtkWindow *window = the_window();
  gtk_window_resize(window, width, height);
  gtk_window_move(window, x, y);
  if (maximised) gtk_window_maximize(window);
}

static gboolean zoom(gpointer per_cent) {
  WebKitWebView *view = the_web_view();
  if (view) webkit_web_view_set_zoom_level(view, GPOINTER_TO_INT(per_cent) / 100.0);
  return G_SOURCE_REMOVE;
}

void window_zoom(int per_cent) { g_idle_add_full(G_PRIORITY_HIGH, zoom, GINT_TO_POINTER(per_cent), NULL); }

static gboolean toggle_full_screen(gpointer unused) {
  (void)unused;
  GtkWindow *window = the_window();
  if (!window) return G_SOURCE_REMOVE;
  if (state_of(GTK_WIDGET(window)) & GDK_WINDOW_STATE_FULLSCREEN)
    gtk_window_unfullscreen(window);
  else
    gtk_window_fullscreen(window);
  return G_SOURCE_REMOVE;
}

void window_toggle_full_screen(void) { g_idle_add_full(G_PRIORITY_HIGH, toggle_full_screen, NULL, NULL); }
