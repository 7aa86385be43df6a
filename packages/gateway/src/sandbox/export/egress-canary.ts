/**
 * A script for an image with socat: fails while anything can be reached that a NetworkPolicy refuses. Policies take
 * effect a moment after a pod has begun, so it tries for two minutes. `REFUSED` holds more targets.
 */
export const EGRESS_CANARY = `
refused="$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT $REFUSED"
for server in $(sed -n 's/^nameserver //p' "\${RESOLV_CONF:-/etc/resolv.conf}"); do
  case $server in *:*) server="[$server]" ;; esac
  refused="$refused $server:53"
done
case $KUBERNETES_SERVICE_HOST in
  '') echo 'egress-canary: KUBERNETES_SERVICE_HOST is not set, so nothing can be checked' >&2; exit 1 ;;
  *:*) refused="[$KUBERNETES_SERVICE_HOST]:\${refused#"$KUBERNETES_SERVICE_HOST:"}" ;;
esac
command -v socat >/dev/null || { echo 'egress-canary: the image has no socat' >&2; exit 1; }
attempt=0
while [ "$attempt" -lt "\${ATTEMPTS:-24}" ]; do
  reached=
  for target in $refused; do
    if socat -T 1 /dev/null "TCP:$target,connect-timeout=3" 2>/dev/null; then reached="$reached $target"; fi
  done
  [ -z "$reached" ] && { echo "egress-canary: none of these can be reached: $refused"; exit 0; }
  attempt=$((attempt + 1))
  sleep "\${PAUSE:-5}"
done
echo "egress-canary: the NetworkPolicy of this pod is not enforced: it reached$reached" >&2
exit 1
`.trimStart()
