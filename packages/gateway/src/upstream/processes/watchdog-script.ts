/**
 * What the watchdog runs: plain POSIX sh, which needs about a megabyte where a second node would need forty.
 *
 * `$1` is the run's mark. `+n` and `-n` on stdin register and release a process group, `.` announces an orderly end. When
 * stdin ends otherwise, the gateway was killed. Groups go first and with builtins only, since a server that filled the
 * process table leaves no room for a fork. Then all that shares a session with them, or carries the mark, until none is
 * left. Without a grep that reads NUL-ended lines (BusyBox) the environments are read by the shell itself.
 */
export const WATCHDOG_SCRIPT = `
trap '' HUP INT QUIT TERM
mark=$1
groups=' '
orderly=

while IFS= read -r line; do
  number=\${line#?}
  case $line in
    +*) groups="$groups$number " ;;
    -*) case $groups in *" $number "*) groups="\${groups%% $number *} \${groups#* $number }" ;; esac ;;
    .) orderly=1 ;;
  esac
done
[ -n "$orderly" ] && [ "$groups" = ' ' ] && exit 0

in_session() {
  IFS= read -r stat < "/proc/$1/stat" || return 1
  set -- \${stat##*) }
  [ "$1" = Z ] && return 1
  case $groups in *" $4 "*) return 0 ;; esac
  return 1
}

is_marked() {
  while IFS= read -r text || [ -n "$text" ]; do
    case $text in *"$mark."*) return 0 ;; esac
  done < "/proc/$1/environ"
  return 1
}

strike() {
  [ "$1" = "$$" ] && return
  kill -9 "$1" && found=1
}

strike_marked() {
  if printf 'a\\0b' | grep -qz '^b'; then
    for file in $(grep -lsze "^SALLYPORT_MARK=$mark[.]" -e "^SALLYPORT_MARK=.* $mark[.]" /proc/[0-9]*/environ); do
      file=\${file%/environ}
      strike "\${file#/proc/}"
    done
    return
  fi
  for file in /proc/[0-9]*; do
    pid=\${file#/proc/}
    is_marked "$pid" && strike "$pid"
  done
}

round=0
found=1
while [ -n "$found" ] && [ "$round" -lt 50 ]; do
  round=$((round + 1))
  found=
  for group in $groups; do kill -9 -- "-$group"; done
  for file in /proc/[0-9]*; do
    pid=\${file#/proc/}
    in_session "$pid" && strike "$pid"
  done
  strike_marked
  [ -z "$found" ] || sleep 0.05 || sleep 1
done
`
