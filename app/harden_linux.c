//go:build desktop && linux

#include "harden_linux.h"

#include <gtk/gtk.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <webkit2/webkit2.h>

#include "_cgo_export.h"

// Wails' own entry for a message of the page. The weak reference turns a renamed symbol into a null pointer, which ends the
// program below, instead of an error of the linker in somebody else's build.
extern void processBindingMessage(char *message, char *source) __attribute__((weak));

static int installed_layers;
static char *token; // "T<64 hex>:"
static int rejected;

// A program whose gate cannot be installed must not show the page: 70 is EX_SOFTWARE.
static void give_up(const char *why) {
  fprintf(stderr, "toolshed: the window cannot be made safe and will not open: %s\n", why);
  _exit(70);
}

static WebKitWebView *find_web_view(GtkWidget *widget) {
  if (WEBKIT_IS_WEB_VIEW(widget)) return WEBKIT_WEB_VIEW(widget);
  if (!GTK_IS_CONTAINER(widget)) return NULL;
  WebKitWebView *found = NULL;
  GList *children = gtk_container_get_children(GTK_CONTAINER(widget));
  for (GList *c = children; c && !found; c = c->next) found = find_web_view(GTK_WIDGET(c->data));
  g_list_free(children);
  return found;
}

WebKitWebView *the_web_view(void) {
  WebKitWebView *found = NULL;
  GList *windows = gtk_window_list_toplevels();
  for (GList *w = windows; w && !found; w = w->next) found = find_web_view(GTK_WIDGET(w->data));
  g_list_free(windows);
  return found;
}

static int same_bytes(const char *a, const char *b, size_t n) {
  unsigned char difference = 0;
  for (size_t i = 0; i < n; i++) difference |= (unsigned char)a[i] ^ (unsigned char)b[i];
  return difference == 0;
}

// The gate: every message must begin with the token. What does not is counted and dropped, unread.
static void on_message(WebKitUserContentManager *manager, WebKitJavascriptResult *result, gpointer view) {
  (void)manager;
  char *message = jsc_value_to_string(webkit_javascript_result_get_js_value(result));
  size_t n = strlen(token);
  if (message && strlen(message) > n && same_bytes(message, token, n)) {
    const char *uri = webkit_web_view_get_uri(WEBKIT_WEB_VIEW(view));
    char *source = g_strdup(uri ? uri : "");
    processBindingMessage(message + n, source);
    g_free(source);
  } else {
    g_atomic_int_inc(&rejected);
  }
  g_free(message);
}

static const char *gate_script =
    "(function () {\n"
    "  if (window !== window.top || location.protocol !== 'wails:' || location.host !== 'wails') return;\n"
    "  var prototype = Object.getPrototypeOf(window.webkit.messageHandlers.external);\n"
    "  var post = prototype.postMessage, token = '%s', apply = Reflect.apply;\n"
    "  Object.defineProperty(prototype, 'postMessage', {\n"
    "    value: function (message) { return apply(post, this, [token + message]); },\n"
    "    writable: false, configurable: false });\n"
    "})();";

static const char *neuter_script =
    "(function () {\n"
    "  if (window === window.top) return;\n"
    "  try {\n"
    "    var prototype = Object.getPrototypeOf(window.webkit.messageHandlers.external);\n"
    "    Object.defineProperty(prototype, 'postMessage', {\n"
    "      value: function () { throw new Error('a gadget has no way to the program but its port'); },\n"
    "      writable: false, configurable: false });\n"
    "  } catch (e) {}\n"
    "})();";

static void add_script(WebKitUserContentManager *manager, const char *source, WebKitUserContentInjectedFrames frames) {
  WebKitUserScript *script =
      webkit_user_script_new(source, frames, WEBKIT_USER_SCRIPT_INJECT_AT_DOCUMENT_START, NULL, NULL);
  webkit_user_content_manager_add_script(manager, script);
  webkit_user_script_unref(script);
}

static void install_gate(WebKitWebView *view, WebKitUserContentManager *manager) {
  guint signal = g_signal_lookup("script-message-received", WEBKIT_TYPE_USER_CONTENT_MANAGER);
  GQuark detail = g_quark_from_string("external");
  int handlers = 0;
  gulong id;
  while ((id = g_signal_handler_find(manager, G_SIGNAL_MATCH_ID | G_SIGNAL_MATCH_DETAIL, signal, detail, NULL, NULL,
                                     NULL))) {
    g_signal_handler_disconnect(manager, id);
    handlers++;
  }
  if (handlers != 1) give_up("the window library has another number of message handlers than one");
  if (!processBindingMessage) give_up("the window library has no processBindingMessage any more");
  if (!g_signal_connect(manager, "script-message-received::external", G_CALLBACK(on_message), view))
    give_up("the gate's handler could not be connected");
  char *source = g_strdup_printf(gate_script, token);
  add_script(manager, source, WEBKIT_USER_CONTENT_INJECT_TOP_FRAME);
  g_free(source);
}

static gboolean on_decide(WebKitWebView *view, WebKitPolicyDecision *decision, WebKitPolicyDecisionType type,
                          gpointer unused) {
  (void)view, (void)unused;
  if (type == WEBKIT_POLICY_DECISION_TYPE_RESPONSE) return FALSE;
  WebKitNavigationAction *action =
      webkit_navigation_policy_decision_get_navigation_action(WEBKIT_NAVIGATION_POLICY_DECISION(decision));
  const char *uri = webkit_uri_request_get_uri(webkit_navigation_action_get_request(action));
  gboolean ours = uri && (g_str_has_prefix(uri, "wails://wails/") || g_str_equal(uri, "about:blank") ||
                          g_str_equal(uri, "about:srcdoc"));
  if (ours && type == WEBKIT_POLICY_DECISION_TYPE_NAVIGATION_ACTION) return FALSE;
  webkit_policy_decision_ignore(decision);
  return TRUE;
}

// The web view never needs the network: everything it shows comes from the program. Port 9 discards.
static void install_proxy(WebKitWebView *view) {
  WebKitNetworkProxySettings *dead = webkit_network_proxy_settings_new("http://127.0.0.1:9", NULL);
  webkit_website_data_manager_set_network_proxy_settings(webkit_web_view_get_website_data_manager(view),
                                                         WEBKIT_NETWORK_PROXY_MODE_CUSTOM, dead);
  webkit_network_proxy_settings_free(dead);
}

static void features_off(WebKitWebView *view) {
  static const char *off[] = {"LinkPreconnect", "LinkPrefetch", "LinkPreload",    "DNSPrefetch",      "BeaconAPI",
                              "WebTransport",   "WebRTC",       "PeerConnection", "HyperlinkAuditing"};
  WebKitSettings *settings = webkit_web_view_get_settings(view);
#if WEBKIT_CHECK_VERSION(2, 42, 0)
  WebKitFeatureList *all = webkit_settings_get_all_features();
  for (gsize i = 0; i < webkit_feature_list_get_length(all); i++) {
    WebKitFeature *feature = webkit_feature_list_get(all, i);
    for (gsize k = 0; k < G_N_ELEMENTS(off); k++)
      if (strstr(webkit_feature_get_identifier(feature), off[k]))
        webkit_settings_set_feature_enabled(settings, feature, FALSE);
  }
  webkit_feature_list_unref(all);
#else
  (void)off;
  webkit_settings_set_enable_dns_prefetching(settings, FALSE);
  webkit_settings_set_enable_hyperlink_auditing(settings, FALSE);
#endif
  webkit_settings_set_enable_webrtc(settings, FALSE);
  webkit_settings_set_enable_media_stream(settings, FALSE);
}

static gboolean install(gpointer unused) {
  (void)unused;
  WebKitWebView *view = the_web_view();
  if (!view) give_up("the window library made no web view");
  // Nothing is served before hardenedFromC below, so a page that has loaded came from somewhere else.
  if (webkit_web_view_get_estimated_load_progress(view) >= 1.0) give_up("a page was loaded too early");
  WebKitUserContentManager *manager = webkit_web_view_get_user_content_manager(view);
  if (installed_layers & LAYER_GATE) install_gate(view, manager);
  if (installed_layers & LAYER_NEUTER) add_script(manager, neuter_script, WEBKIT_USER_CONTENT_INJECT_ALL_FRAMES);
  if (installed_layers & LAYER_POLICY) g_signal_connect(view, "decide-policy", G_CALLBACK(on_decide), NULL);
  if (installed_layers & LAYER_PROXY) install_proxy(view);
  if (installed_layers & LAYER_FEATURES) features_off(view);
  hardenedFromC();
  return G_SOURCE_REMOVE;
}

void harden_install(int layers, const char *secret) {
  installed_layers = layers;
  token = g_strdup_printf("T%s:", secret);
  g_idle_add_full(G_PRIORITY_HIGH, install, NULL, NULL);
}

int harden_rejected(void) { return g_atomic_int_get(&rejected); }
