import type { ToolsFilePreview } from '../../../gateway/src/serve/api/api.ts'
import { DiffView } from './diff-view.tsx'
import { ForeignText } from './foreign-text.tsx'
import { Note } from './states.tsx'

interface FileChangeProps {
  /** Its name without the folder. */
  readonly file: string
  readonly preview: Pick<ToolsFilePreview, 'path' | 'diff' | 'warnings'>
}

/** What would be written into a file, before it is written. */
export const FileChange = ({ file, preview: { path, diff, warnings } }: FileChangeProps) => (
  <div className="stack-s">
    <p className="small muted">
      {diff.length === 0 ? 'Nothing would change in ' : 'What will change in '}
      <code>{path}</code>. Comments and all other lines stay.
    </p>
    {diff.length > 0 && <DiffView title={`The change of ${file}`} lines={diff} />}
    {warnings.map((warning) => (
      <Note key={warning} kind="ask">
        <ForeignText text={warning} />
      </Note>
    ))}
  </div>
)
