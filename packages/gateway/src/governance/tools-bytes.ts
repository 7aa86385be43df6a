import { type FileIssue, readToolsFile, type ToolsFileReading } from './tools-file/tools-file.ts'
import { utf8Text } from './utf8-text.ts'

/** Reads tools.yaml as it stands on the disk. */
export function readToolsBytes(path: string, bytes: Uint8Array): ToolsFileReading {
  const text = utf8Text(bytes)
  if (text === undefined) return { ok: false, issue: { line: 1, column: 1, problem: 'this is not UTF-8 text.' } }
  return readToolsFile(text, path)
}

/** A place in the file and what is wrong there, in a form that editors can open. */
export const issueText = (path: string, { line, column, problem }: FileIssue): string =>
  `${path}:${line}:${column}: ${problem}`
