export type { FileIssue } from './file-issue.ts'
export { readToolsFile, type ToolsFileReading } from './read-tools-file.ts'
