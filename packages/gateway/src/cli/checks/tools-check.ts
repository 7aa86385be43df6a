import { formatIssue, readToolsBytes } from '../../governance/governance.ts'
import type { ToolsFileView } from '../gateway-client.ts'
import { type Check, ok, warning, wrong } from './check.ts'

export interface ToolsCheckOptions {
  /** What the gateway says that runs on the home. */
  readonly running: ToolsFileView | undefined
  /** The file as it stands there. */
  readonly tools: { readonly path: string; readonly bytes: Uint8Array } | undefined
}

const NAME = 'tools'

/** Whether what people decided is in force, and what about tools they should look at. */
export function checkTools({ running, tools }: ToolsCheckOptions): readonly Check[] {
  if (running) return toChecks(running)
  if (tools === undefined) return [ok(NAME, 'There is no tools.yaml yet: the first start writes it')]
  const reading = readToolsBytes(tools.path, tools.bytes)
  if (!reading.ok) {
    const finding = `${formatIssue(tools.path, reading.issue)} Nothing can be called until it is corrected.`
    return [wrong(NAME, finding, 'Correct the file.')]
  }
  if (reading.warnings.length > 0) return reading.warnings.map((issue) => warning(NAME, formatIssue(tools.path, issue)))
  return [validCheck(tools.path, reading.file.entries.length)]
}

function toChecks({ path, entries, problems }: ToolsFileView): readonly Check[] {
  if (problems.length === 0) return [validCheck(path, entries)]
  return problems.map(({ level, problem, fix }) => (level === 'wrong' ? wrong : warning)(NAME, problem, fix))
}

const validCheck = (path: string, entries: number): Check =>
  ok(NAME, `${path} is in force: ${entries === 1 ? '1 entry' : `${entries} entries`}`)
