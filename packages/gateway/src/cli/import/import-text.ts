import { diffLines, maskSecrets } from '@sallyport/core'
import type { AddedServer, ServerOrigin } from '../../agents/agents.ts'
import type { Screen } from '../terminal/screen.ts'
import { visibleLine, visibleLines } from '../terminal/terminal-text.ts'
import type { BrokenFile } from './found-servers.ts'
import type { ImportDraft } from './import-draft.ts'

/** The JSON report of an import, without secrets. */
export function createImportReport({ plan, path }: ImportDraft, broken: readonly BrokenFile[]) {
  return {
    file: path,
    added: plan.added.map(({ id, sources, renamedFrom, secrets, unset, notes }) => ({
      ...{ id, sources, notes, unset },
      ...(renamedFrom !== undefined && { renamedFrom }),
      variables: secrets.map(({ variable, at }) => ({ variable, at })),
    })),
    present: plan.present,
    skipped: plan.skipped,
    broken,
  }
}

/** Prints the lines that would be added. The lines around them may contain secrets and are not shown. */
export function printDiff(screen: Screen, { before, after, path, plan }: ImportDraft): void {
  const lines = diffLines((before?.toString('utf8') ?? '').split('\n'), after.split('\n'))
  const added = lines.filter(({ mark }) => mark === '+').map(({ text }) => `+ ${text}`)
  const masked = plan.added.flatMap((server) => server.masked)
  const shown = maskSecrets(added.join('\n'), masked)
    .split('\n')
    .map((line) => screen.style.green(visibleLines(line)))
  // One write for all: a write per line takes longer than computing the diff.
  screen.print([screen.style.bold(visibleLine(path)), ...shown, ''].join('\n'))
}

/** Prints which servers are merged, renamed or left out, and why, and which variables have to be set. */
export function printImportPlan(screen: Screen, { plan }: ImportDraft, broken: readonly BrokenFile[]): void {
  const present = [...new Set(plan.present.map(({ id }) => id))]
  const lines = [
    ...broken.map(brokenLine),
    ...plan.added.flatMap(addedLines),
    ...(present.length > 0 ? [`= already there: ${present.join(', ')}`] : []),
    ...plan.skipped.map(({ why, ...source }) => `- ${formatOrigin(source)} is left out: ${visibleLine(why)}`),
    ...variableLines(plan.added),
  ]
  if (lines.length > 0) screen.printMessage(lines.join('\n'))
}

const brokenLine = ({ file, agent, why }: BrokenFile): string =>
  `✗ ${agent}: ${visibleLine(why.includes(file) ? why : `${file}: ${why}`)}`

const formatOrigin = ({ agent, name }: ServerOrigin): string => visibleLine(`${name} of ${agent}`)

function addedLines({ id, sources, renamedFrom, notes }: AddedServer): readonly string[] {
  const others = sources.slice(1).map(formatOrigin)
  const merged = others.length === 0 ? '' : `, the same as ${others.join(', ')}`
  const renamed = renamedFrom === undefined ? '' : ` (another server is called ${renamedFrom})`
  const [first] = sources as readonly [ServerOrigin]
  return [`+ ${id}: ${formatOrigin(first)}${merged}${renamed}`, ...notes.map((note) => `    ${visibleLine(note)}`)]
}

/** The lines that set the variables for secrets that are not written to the file. The values are not shown. */
function variableLines(added: readonly AddedServer[]): readonly string[] {
  const lines = new Map<string, string>()
  for (const { id, secrets, unset, sources } of added) {
    for (const variable of unset) {
      const location = secrets.find((secret) => secret.variable === variable)?.at
      const where =
        location === undefined
          ? `for ${id}`
          : `${location} of ${formatOrigin(sources[0] as ServerOrigin)}, in ${sources[0]?.file}`
      if (!lines.has(variable)) lines.set(variable, `  export ${variable}='…'   # ${visibleLine(where)}`)
    }
  }
  if (lines.size === 0) return []
  return [
    'Set these where the gateway runs, then remove `enabled: false` from the servers that need them:',
    ...lines.values(),
  ]
}
