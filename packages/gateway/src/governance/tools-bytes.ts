import {
  type FileIssue,
  type Parsing,
  parseFile,
  readToolsFile,
  type ToolsFileReading,
} from './tools-file/tools-file.ts'
import { utf8Text } from './utf8-text.ts'

/** tools.yaml as it stands on the disk; where there is none, as if it were empty. */
export function parseToolsBytes(bytes: Uint8Array | undefined): Parsing {
  const text = bytes === undefined ? '' : utf8Text(bytes)
  if (text !== undefined) return parseFile(text)
  const source = { text: '', starts: [], indents: [] }
  return { ok: false, source, problem: { offset: 0, problem: 'this is not UTF-8 text.' } }
}

export function readToolsBytes(path: string, bytes: Uint8Array | undefined): ToolsFileReading {
  return readToolsFile(parseToolsBytes(bytes), path)
}

/** A place in the file and what is wrong there, in a form that editors can open. */
export const issueText = (path: string, { line, column, problem }: FileIssue): string =>
  `${path}:${line}:${column}: ${problem}`
