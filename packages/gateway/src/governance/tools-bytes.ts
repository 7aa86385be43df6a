import {
  type FileIssue,
  type ParseResult,
  parseToolsFile,
  readToolsFile,
  type ToolsFileResult,
} from './tools-file/tools-file.ts'
import { decodeUtf8 } from './utf8-text.ts'

/** tools.yaml as it stands on the disk; where there is none, as if it were empty. */
export function parseToolsBytes(bytes: Uint8Array | undefined): ParseResult {
  const text = bytes === undefined ? '' : decodeUtf8(bytes)
  if (text !== undefined) return parseToolsFile(text)
  const source = { text: '', starts: [], indents: [] }
  return { ok: false, source, problem: { offset: 0, problem: 'this is not UTF-8 text.' } }
}

export function readToolsBytes(path: string, bytes: Uint8Array | undefined): ToolsFileResult {
  return readToolsFile(parseToolsBytes(bytes), path)
}

/** A place in the file and what is wrong there, in a form that editors can open. */
export const formatIssue = (path: string, { line, column, problem }: FileIssue): string =>
  `${path}:${line}:${column}: ${problem}`
