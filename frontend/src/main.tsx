import "./ui/theme.css";
import { browserPipe, realBrowser } from "./kernel/pipe_browser";
import { realWindow, windowPipe } from "./kernel/pipe_window";
import { Session } from "./kernel/session";
import { show } from "./show";

const around = realWindow();
show(new Session(around ? windowPipe(around) : browserPipe(realBrowser())).begin());
