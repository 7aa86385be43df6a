/** Words in a tool's name from which its risk is inferred. */
export interface RiskTokens {
  readonly high: readonly string[]
  readonly low: readonly string[]
  /**
   * Words of either list that are often nouns: high ones are ignored after a low verb, low ones are not such a verb.
   */
  readonly nouns: readonly string[]
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** The default lists; the operator can change them. Forms such as `deletes` are derived. */
export const RISK_TOKENS: RiskTokens = {
  high: words(`
    write overwrite rewrite save store persist insert append prepend add upsert put
    create recreate mkdir touch init initialize register enroll provision
    update upgrade downgrade modify edit change alter adjust set unset configure patch apply merge squash rebase replace
    fix repair increase decrease increment decrement
    rename move mv copy cp clone duplicate fork migrate import upload attach detach mount unmount
    delete del remove rm rmdir unlink destroy drop truncate purge clear flush wipe erase prune evict trash forget
    clean cleanup scrub shred nuke hset hdel lpush rpush lpop rpop sadd srem zadd zrem xadd xdel
    expire invalidate archive unarchive restore revert rollback undo redo reset
    execute exec run rerun eval evaluate invoke call dispatch trigger spawn launch inject interact
    bash sh zsh shell powershell pwsh terminal repl sudo ssh
    start stop restart reboot boot shutdown halt pause resume suspend kill terminate abort cancel close reopen
    enable disable activate deactivate toggle manage control operate schedule reschedule complete finish finalize
    deploy redeploy undeploy publish unpublish republish release rollout scale build push commit checkout stash
    install uninstall reinstall deprovision deregister unregister cordon uncordon drain taint expose annotate
    send resend post repost tweet reply respond comment forward notify broadcast emit mark react share unshare
    subscribe unsubscribe follow unfollow star unstar invite assign unassign transition vote pin unpin
    submit fill click tap press type drag navigate goto
    pay charge refund transfer withdraw deposit buy sell purchase order trade book reserve void mint swap
    grant revoke approve accept confirm reject decline deny authorize dismiss promote demote escalate impersonate
    ban unban kick block unblock mute unmute lock unlock quarantine rotate sign
  `),
  low: words(`
    read get list search query view show fetch find describe count lookup
    retrieve browse inspect explain preview peek diff compare enumerate locate discover
    grep glob ls stat whoami ping
  `),
  nouns: words(`
    post run update archive set merge clean cleanup fix repair
    copy clone duplicate fork import touch store mount change patch upgrade restore rollback order trade book charge refund
    transfer deposit purchase swap vote star pin share comment reply forward tweet type press call trigger dispatch
    start stop pause release rollout scale build commit checkout stash push schedule control block lock transition
    list search query view show count preview diff
  `),
}
