# How often the repeated tests repeat: in `make test` (CI) and in `make prove` (all of it). They stand side by side so that
# lowering one is a visible change. The tests read them from the environment.
#
#   SEEDS    random programs of calls, run in two or more ways and compared
#   PROGRAMS random programs run on the guest's half of the protocol and on the official one
#   KILLS    a program killed with SIGKILL and opened again: in mid-write, and while it evicts; a fifth of it in mid-alarm
#   CUTS     power cuts of a recorded disk
#   CYCLES   a store opened and closed; a gadget opened, called and closed in a child
#   PLATFORM random programs of each part of the web platform, run in a gadget and in node
#   DAMAGES  a file damaged at random, for each kind of damage

COUNTS_test  = TOOLSHED_SEEDS=1000  TOOLSHED_PROGRAMS=1000 TOOLSHED_KILLS=30  TOOLSHED_CUTS=20  TOOLSHED_CYCLES=300   TOOLSHED_DAMAGES=300  TOOLSHED_PLATFORM=300
COUNTS_prove = TOOLSHED_SEEDS=10000 TOOLSHED_PROGRAMS=10000 TOOLSHED_KILLS=300 TOOLSHED_CUTS=200 TOOLSHED_CYCLES=10000 TOOLSHED_DAMAGES=6000 TOOLSHED_PLATFORM=3000
