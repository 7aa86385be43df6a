import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AnsweredApproval, ApprovalView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { approvalsQuery } from '../../api/queries.ts'
import { formatCount } from '../../parts/format.ts'
import { useMay } from '../../shell/roles.ts'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { useToast } from '../../shell/toasts.tsx'
import { AlwaysForm } from './always-form.tsx'
import { DenyForm } from './deny-form.tsx'
import { shortName } from './waiting-list.tsx'

export type Answer = AnsweredApproval['answer']

const DONE: Readonly<Record<Answer, string>> = {
  once: 'Approved once',
  session: 'Approved for this session',
  always: 'Approved from now on',
  deny: 'Denied',
}

function useAnswer(approval: ApprovalView) {
  const client = useQueryClient()
  const toast = useToast()
  return useMutation({
    mutationFn: ({ answer, why }: { readonly answer: Answer; readonly why?: string }) =>
      read(
        api.approvals[':id'].$post({
          param: { id: approval.id },
          json: { answer, via: 'web', hash: approval.hash, ...(why && { why }) },
        }),
      ),
    onSuccess: ({ answer, unwritten }) =>
      toast(unwritten ? `Approved once: ${unwritten}` : `${DONE[answer]}: ${shortName(approval).slice(0, 80)}`),
    // Also after an error: somebody else may have answered it.
    onSettled: () => client.invalidateQueries({ queryKey: approvalsQuery.queryKey }),
  })
}

interface AnswerBarProps {
  readonly approval: ApprovalView
  /** How many values have not been opened yet. */
  readonly folded: number
}

export function AnswerBar({ approval, folded }: AnswerBarProps) {
  const [form, open] = useState<'always' | 'deny'>()
  const answer = useAnswer(approval)
  const mayAnswer = useMay('approver')
  const mayWrite = useMay('operator')
  const isReady = mayAnswer && folded <= 0 && !answer.isPending
  const give = (kind: Answer): void => {
    if (isReady) answer.mutate({ answer: kind })
  }
  useShortcuts([
    { keys: 'a', title: 'Approve once', run: () => give('once') },
    { keys: 's', title: 'Approve for this session', run: () => give('session') },
    { keys: 'w', title: 'Always: show the change', run: () => isReady && mayWrite && open('always') },
    { keys: 'd', title: 'Deny', run: () => mayAnswer && open('deny') },
  ])
  const close = (): void => open(undefined)
  return (
    <div className="answer">
      {form === 'always' && <AlwaysForm approval={approval} onConfirm={() => give('always')} onCancel={close} />}
      {form === 'deny' && (
        <DenyForm agent={approval.agent} onConfirm={(why) => answer.mutate({ answer: 'deny', why })} onCancel={close} />
      )}
      {(form === undefined || answer.error) && (
        <AnswerHint mayAnswer={mayAnswer} folded={folded} error={answer.error} />
      )}
      {form === undefined && (
        <div className="actions">
          <button className="btn btn-primary" type="button" disabled={!isReady} onClick={() => give('once')}>
            Approve once <kbd>a</kbd>
          </button>
          <button className="btn" type="button" disabled={!isReady} onClick={() => give('session')}>
            This session <kbd>s</kbd>
          </button>
          <button className="btn" type="button" disabled={!isReady || !mayWrite} onClick={() => open('always')}>
            Always… <kbd>w</kbd>
          </button>
          <button
            className="btn btn-danger"
            type="button"
            disabled={!mayAnswer || answer.isPending}
            onClick={() => open('deny')}
          >
            Deny… <kbd>d</kbd>
          </button>
        </div>
      )}
    </div>
  )
}

interface AnswerHintProps {
  readonly mayAnswer: boolean
  readonly folded: number
  readonly error: Error | null
}

/** Why a button cannot be pressed is beside it. */
function AnswerHint({ mayAnswer, folded, error }: AnswerHintProps) {
  if (error) return <p className="error">{error.message}</p>
  if (!mayAnswer) return <p className="small muted">Your role may look at calls, and not answer them.</p>
  if (folded > 0)
    return (
      <p className="small muted">Open {formatCount(folded, 'folded value')} to approve: you answer for all of it.</p>
    )
  return <p className="small faint">Once and session hold for exactly these arguments.</p>
}
