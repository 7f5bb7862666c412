# How often the repeated tests repeat: in `make test` (CI) and in `make prove` (all of it). They stand side by side so that
# lowering one is a visible change. The tests read them from the environment.

COUNTS_test  = TOOLSHED_KILLS=10  TOOLSHED_SEEDS=200   TOOLSHED_OPENINGS=200   TOOLSHED_FUZZTIME=5s
COUNTS_prove = TOOLSHED_KILLS=300 TOOLSHED_SEEDS=10000 TOOLSHED_OPENINGS=10000 TOOLSHED_FUZZTIME=120s
