import { join } from 'node:path'
import { isSensitivity, messageOf, SallyportError, type Sensitivity } from '@sallyport/core'
import { type LabelStore, openLabelStore } from '@sallyport/kit/labels'
import type { LabelRecords, SessionOwner, SessionRecord } from './records.ts'
import type { Sqlite } from './sqlite.ts'

/**
 * Labels are files, in the form of the kit's store: written whole, synced, and never replaced. The database only
 * remembers whose they are, for lists; a lost database lowers no label.
 */
export function openLabelRecords(
  state: string,
  database: Sqlite | undefined,
  onProblem: (text: string) => void,
): LabelRecords {
  const folder = join(state, 'session-labels')
  const labels = openLabelStore(folder, { onProblem })
  const fail = createFailure(onProblem)
  const sessions = database === undefined ? NO_SESSIONS : createSessionTable(database)
  return {
    ...sessions,
    load: (owner) => labels.read(toLabelOwner(owner)),
    raise: (owner, { name, sensitivity }) => raise(labels, owner, { name, sensitivity }).catch(fail),
    settle: (owner) => labels.settle(toLabelOwner(owner)).catch(fail),
  }
}

/** The reason names a folder, which is for operators: the error may reach an agent. */
function createFailure(onProblem: (text: string) => void): (cause: unknown) => never {
  let reported: string | undefined
  return (cause) => {
    const problem = messageOf(cause)
    if (problem !== reported) onProblem(problem)
    reported = problem
    throw new SallyportError('STATE_UNUSABLE', 'The label of the session could not be stored.', {
      hint: 'No result of the session is released until that works: the log of the gateway says why it does not.',
      cause,
    })
  }
}

async function raise(labels: LabelStore, owner: SessionOwner, dataset: { name: string; sensitivity: Sensitivity }) {
  await labels.raise(toLabelOwner(owner), dataset.name, dataset.sensitivity)
}

const toLabelOwner = ({ user, session }: SessionOwner) => ({ userId: user, sessionId: session })

type SessionTable = Pick<LabelRecords, 'list' | 'remember'>

const NO_SESSIONS: SessionTable = { list: () => [], remember: () => undefined }

/** So that one caller with ever new session ids cannot fill the disk. The oldest go first; their labels stay. */
const MAX_SESSIONS = 20_000

function createSessionTable(database: Sqlite): SessionTable {
  const select = database.prepare(
    'SELECT user, session, agent, profile, sensitivity, raised FROM sessions ORDER BY raised',
  )
  const replace = database.prepare(
    'INSERT OR REPLACE INTO sessions (user, session, agent, profile, sensitivity, raised) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const trim = database.prepare(
    'DELETE FROM sessions WHERE raised < (SELECT raised FROM sessions ORDER BY raised DESC LIMIT 1 OFFSET ?)',
  )
  const quietly = <Result>(work: () => Result, otherwise: Result): Result => {
    try {
      return work()
    } catch {
      return otherwise
    }
  }
  return {
    list: () =>
      quietly(
        () => (select.all() as readonly SessionRecord[]).filter(({ sensitivity }) => isSensitivity(sensitivity)),
        [],
      ),
    remember: ({ user, session, agent, profile, sensitivity, raised }) =>
      quietly(() => {
        replace.run(user, session, agent, profile, sensitivity, raised)
        trim.run(MAX_SESSIONS)
      }, undefined),
  }
}
