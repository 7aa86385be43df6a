import { useState } from 'react'
import { Link } from 'react-router'
import type { ApprovalView } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { formatRule } from '../../parts/format.ts'
import { PermissionSign, RiskSign } from '../../parts/signs.tsx'
import { Note } from '../../parts/states.tsx'
import { AnswerBar } from './answer-bar.tsx'
import { Arguments, countFolded } from './arguments.tsx'
import { shortName } from './waiting-list.tsx'

const SECRETS: Readonly<Record<NonNullable<ApprovalView['secrets']>, string>> = {
  removed: 'removed from them',
  hidden: 'hidden here, and sent',
}

/** One call that waits: who, what exactly, why a person is asked, and the answers. */
export function Request({ approval }: { readonly approval: ApprovalView }) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const folded = countFolded(approval.arguments) - opened.size
  const { agent, profile, user, session, risk, permission, reason, rule, method, written, secrets } = approval
  return (
    <article className="ask" aria-label="The call">
      <div className="ask-body">
        <div className="stack-s">
          <h2>
            {agent} wants to {method === 'tools/call' ? 'call' : 'use'} <ForeignName name={shortName(approval)} />
          </h2>
          <p className="muted">
            {user} · {agent}.{profile} · session <Link to={`/sessions/${encodeURIComponent(session)}`}>{session}</Link>{' '}
            · <RiskSign risk={risk} /> · <PermissionSign permission={permission} />
          </p>
        </div>
        <Note kind="ask">
          <p>
            <strong>Why you are asked:</strong> <ForeignText text={reason} />
          </p>
          {rule && (
            <p className="small">
              <code title={rule.file}>{formatRule(rule)}</code>
            </p>
          )}
        </Note>
        <div className="stack-s">
          <h3>Arguments, as they will be sent{secrets && `: keys and tokens are ${SECRETS[secrets]}`}</h3>
          <Arguments value={approval.arguments} onOpen={(name) => setOpened(new Set([...opened, name]))} />
        </div>
        {written !== undefined && (
          <section className="stack-s" aria-label={`What ${agent} wrote`}>
            <h3>Written by {agent}, and not sent like this</h3>
            <Arguments value={pickDifferent(written, approval.arguments)} />
          </section>
        )}
      </div>
      <AnswerBar approval={approval} folded={folded} />
    </article>
  )
}

/** Of two objects only the members that differ: the others can be read above. */
function pickDifferent(written: unknown, sent: unknown): unknown {
  if (!isRecord(written) || !isRecord(sent)) return written
  const isSent = (name: string): boolean =>
    Object.hasOwn(sent, name) && JSON.stringify(sent[name]) === JSON.stringify(written[name])
  return Object.fromEntries(Object.entries(written).filter(([name]) => !isSent(name)))
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
