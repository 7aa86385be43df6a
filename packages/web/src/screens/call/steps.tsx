import type { EventView } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { formatRule } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import { type VerdictKind, VerdictMark } from '../../parts/signs.tsx'

type Facts = Extract<EventView, { type: 'TOOL_CALL_STARTED' | 'POLICY_DENIED' }>

const KINDS: Readonly<Record<string, VerdictKind>> = { allow: 'allow', ask: 'ask', deny: 'deny' }

/** The verdict of each step, in the order in which they were asked. */
export function Steps({ facts: { steps, decided_by: decided, rules, would } }: { readonly facts: Facts }) {
  const names = Object.entries(steps)
  return (
    <Panel title="Steps" sub="in the order in which they were asked">
      <ol className="fall">
        {names.map(([step, outcome = '']) => {
          const isKey = decided?.step === step
          const kind = would?.step === step ? 'would' : (KINDS[outcome] ?? 'off')
          const rule = isKey ? decided?.rule : rules?.[step as keyof typeof rules]
          return (
            <li
              key={step}
              className={`step ${isKey && kind === 'deny' ? 'is-stop' : isKey || kind === 'ask' ? 'is-key' : ''}`}
            >
              <VerdictMark kind={kind} />
              <b>{step}</b>
              <span className="say">
                {isKey ? (
                  <ForeignText text={decided?.reason ?? ''} />
                ) : would?.step === step ? (
                  <ForeignText text={would.reason} />
                ) : (
                  outcome
                )}
              </span>
              <span className="num">{rule && <code title={rule.file}>{formatRule(rule)}</code>}</span>
            </li>
          )
        })}
      </ol>
    </Panel>
  )
}
