#!/bin/sh
# workerd that the kernel ends together with the wrangler that started it, however that one ends.
exec setpriv --pdeathsig KILL -- "$WORKERD" "$@"
