import { isJsonObject, messageOf } from '@sallyport/core'
import { APPROVAL_ANSWERS, type ApprovalAnswer, type PendingApproval } from './approval.ts'
import { type ApprovalView, toApprovalView } from './approval-view.ts'
import type { Approvals } from './approvals.ts'

/** The answer of a program to an approval request. */
export interface ProgramAnswer {
  readonly answer: ApprovalAnswer['answer']
  /** For a denial, the model sees this reason. */
  readonly why?: string
}

/** A function of the embedding program that decides. The signal aborts when an answer is no longer needed. */
export type Approver = (request: ApprovalView, signal: AbortSignal) => Promise<ProgramAnswer>

export interface ProgramApprovalOptions {
  readonly approvals: Pick<Approvals, 'answer' | 'onChange'>
  readonly approve: Approver
  readonly onWarning: (text: string) => void
}

/** Asks the program that embeds the gateway. Any failure there is a denial. Returns a function that stops it. */
export function openProgramApproval({ approvals, approve, onWarning }: ProgramApprovalOptions): () => void {
  const asked = new Map<string, AbortController>()
  const ask = async (approval: PendingApproval, { signal }: AbortController): Promise<void> => {
    try {
      const answer = readAnswer(await approve(toApprovalView(approval), signal))
      const { unwritten } = await approvals.answer(approval.id, answer)
      if (unwritten !== undefined)
        onWarning(
          `The program's "always" for ${approval.tool} is used only once, because no rule could be written: ${unwritten}`,
        )
    } catch (error) {
      if (signal.aborted) return
      const why = `the program could not decide: ${messageOf(error)}`
      onWarning(`The program's approval of ${approval.tool} failed, so the call is refused: ${messageOf(error)}`)
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

function readAnswer(value: unknown): ApprovalAnswer {
  const { answer, why } = isJsonObject(value) ? value : {}
  const known = APPROVAL_ANSWERS.find((one) => one === answer)
  if (known === undefined) throw new TypeError(`approve must return {answer: ${APPROVAL_ANSWERS.join(' | ')}}`)
  return { ...BY_PROGRAM, answer: known, ...(typeof why === 'string' && { why }) }
}
