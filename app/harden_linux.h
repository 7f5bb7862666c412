#ifndef TOOLSHED_HARDEN_H
#define TOOLSHED_HARDEN_H

// The layers, as bits. See harden_linux.go for what each is for.
enum {
  LAYER_GATE = 1,
  LAYER_POLICY = 2,
  LAYER_NEUTER = 4,
  LAYER_PROXY = 8,
  LAYER_FEATURES = 16,
};

// harden_install schedules the installation of the layers before anything else that the main loop does. secret is 64 hex
// digits and is copied. Called once, before the loop runs, on the thread that will run it.
void harden_install(int layers, const char *secret);

// harden_rejected is how many messages the gate has turned away.
int harden_rejected(void);

// the_web_view is the window's web view, or NULL. For the main thread only.
struct _WebKitWebView *the_web_view(void);

#endif
