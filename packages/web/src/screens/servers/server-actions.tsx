import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from 'react-router'
import type { ServerView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { serversQuery } from '../../api/queries.ts'
import { ConfigChange, useConfigChange } from '../../parts/config-change.tsx'
import { Failed } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'
import { useToast } from '../../shell/toasts.tsx'

/** A restart is done at once; what changes config.yaml is shown first. */
export function ServerActions({ server: { id, kind, config } }: { readonly server: ServerView }) {
  const client = useQueryClient()
  const toast = useToast()
  const change = useConfigChange()
  const mayChange = useMay('operator')
  const restart = useMutation({
    mutationFn: () =>
      read(api.servers[':id'].restart.$post({ param: { id: encodeURIComponent(id) }, json: { via: 'web' } })),
    onSuccess: () => toast(`${id} is starting again.`),
    onSettled: () => client.invalidateQueries({ queryKey: serversQuery.queryKey }),
  })
  if (!mayChange || kind === 'built-in') return null
  return (
    <>
      {restart.error && <Failed error={restart.error} />}
      <ConfigChange change={change} />
      {change.preview.variables === undefined && (
        <div className="actions">
          {config.enabled && (
            <button className="btn btn-s" type="button" disabled={restart.isPending} onClick={() => restart.mutate()}>
              Restart
            </button>
          )}
          <Link className="btn btn-s" to={`/servers/${encodeURIComponent(id)}?edit=form`} replace>
            Edit…
          </Link>
          <button
            className="btn btn-s"
            type="button"
            onClick={() => change.show([{ kind: 'enable', id, enabled: !config.enabled }])}
          >
            {config.enabled ? 'Disable…' : 'Enable…'}
          </button>
          <button className="btn btn-s btn-danger" type="button" onClick={() => change.show([{ kind: 'remove', id }])}>
            Remove…
          </button>
        </div>
      )}
    </>
  )
}
