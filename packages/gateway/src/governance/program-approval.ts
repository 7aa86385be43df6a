import { isJsonObject, messageOf } from '@sallyport/core'
import { APPROVAL_ANSWERS, type ApprovalAnswer, type PendingApproval } from './approval.ts'
import { type ApprovalView, toApprovalView } from './approval-view.ts'
import type { Approvals } from './approvals.ts'

/** The answer to a call that needs approval. */
export interface ProgramAnswer {
  readonly answer: ApprovalAnswer['answer']
  /** Of a denial it reaches the model. */
  readonly why?: string
}

/** A program's own way to decide. The signal aborts when an answer is no longer wanted. */
export type Approver = (request: ApprovalView, signal: AbortSignal) => Promise<ProgramAnswer>

export interface ProgramApprovalOptions {
  readonly approvals: Pick<Approvals, 'answer' | 'onChange'>
  readonly approve: Approver
  readonly onWarning: (text: string) => void
}

/** Asks the program that the gateway runs in. Whatever goes wrong there is a denial. Returns how to stop. */
export function openProgramApproval({ approvals, approve, onWarning }: ProgramApprovalOptions): () => void {
  const asked = new Map<string, AbortController>()
  const ask = async (approval: PendingApproval, { signal }: AbortController): Promise<void> => {
    try {
      const said = readAnswer(await approve(toApprovalView(approval), signal))
      const { unwritten } = await approvals.answer(approval.id, said)
      if (unwritten !== undefined)
        onWarning(`The program's "always" for ${approval.tool} counts once, since no rule was written: ${unwritten}`)
    } catch (error) {
      if (signal.aborted) return
      const why = `it could not be decided: ${messageOf(error)}`
      onWarning(`The program's approval of ${approval.tool} failed, so it is refused: ${messageOf(error)}`)
      await approvals.answer(approval.id, { ...BY_PROGRAM, answer: 'deny', why }).catch(() => undefined)
    }
  }
  return approvals.onChange(({ kind, approval }) => {
    const { id } = approval
    if (kind === 'settled') {
      asked.get(id)?.abort()
      asked.delete(id)
      return
    }
    const controller = new AbortController()
    asked.set(id, controller)
    void ask(approval, controller)
  })
}

const BY_PROGRAM = { by: 'the program', via: 'program' } as const

function readAnswer(said: unknown): ApprovalAnswer {
  const { answer, why } = isJsonObject(said) ? said : {}
  const known = APPROVAL_ANSWERS.find((one) => one === answer)
  if (known === undefined) throw new TypeError(`approve must return {answer: ${APPROVAL_ANSWERS.join(' | ')}}`)
  return { ...BY_PROGRAM, answer: known, ...(typeof why === 'string' && { why }) }
}
