import { useState } from 'react'
import { Link } from 'react-router'
import type { ApprovalView } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { formatRule } from '../../parts/format.ts'
import { RiskSign } from '../../parts/signs.tsx'
import { Note } from '../../parts/states.tsx'
import { AnswerBar } from './answer-bar.tsx'
import { Arguments, countFolded } from './arguments.tsx'
import { shortName } from './waiting-list.tsx'

/** One call that waits: who, what exactly, why a person is asked, and the answers. */
export function Request({ approval }: { readonly approval: ApprovalView }) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const folded = countFolded(approval.arguments) - opened.size
  const { agent, profile, user, session, risk, reason, rule, method } = approval
  return (
    <article className="ask" aria-label="The call">
      <div className="ask-body">
        <div className="stack-s">
          <h2>
            {agent} wants to {method === 'tools/call' ? 'call' : 'use'} <ForeignName name={shortName(approval)} />
          </h2>
          <p className="muted">
            {user} · {agent}.{profile} · session <Link to={`/sessions/${encodeURIComponent(session)}`}>{session}</Link>{' '}
            · <RiskSign risk={risk} />
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
          <h3>Arguments, as they will be sent; keys and tokens are masked here</h3>
          <Arguments value={approval.arguments} onOpen={(name) => setOpened(new Set([...opened, name]))} />
        </div>
      </div>
      <AnswerBar approval={approval} folded={folded} />
    </article>
  )
}
