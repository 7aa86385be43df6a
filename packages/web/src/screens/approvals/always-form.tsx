import { useQuery } from '@tanstack/react-query'
import type { ApprovalView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { DiffView, toDiffLines } from '../../parts/diff-view.tsx'
import { formatRule } from '../../parts/format.ts'
import { Loaded } from '../../parts/states.tsx'

interface AlwaysFormProps {
  readonly approval: ApprovalView
  readonly onConfirm: () => void
  readonly onCancel: () => void
}

/** The lines of tools.yaml that "always" would write, before it writes them. */
export function AlwaysForm({ approval: { id }, onConfirm, onCancel }: AlwaysFormProps) {
  const preview = useQuery({
    // Not in the topic of approvals: after the answer there is nothing left to preview.
    queryKey: ['always-preview', id],
    queryFn: () => read(api.approvals[':id'].$post({ param: { id }, json: { answer: 'always', dryRun: true } })),
    gcTime: 0,
  })
  return (
    <Loaded query={preview} what="the change">
      {({ change, unwritten }) => (
        <div className="stack-s">
          <h3>{change ? `Change of ${formatRule(change)}` : 'No rule can be written'}</h3>
          {change ? <DiffView lines={toDiffLines(change)} title="Change of tools.yaml" /> : <p>{unwritten}</p>}
          <div className="actions">
            <button className="btn btn-primary" type="button" disabled={!change} onClick={onConfirm}>
              Write it and approve
            </button>
            <button className="btn btn-ghost" type="button" onClick={onCancel}>
              Cancel
            </button>
          </div>
        </div>
      )}
    </Loaded>
  )
}
