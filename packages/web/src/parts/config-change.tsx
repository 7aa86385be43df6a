import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ConfigPreviewView, ServerChangeInput } from '../../../gateway/src/serve/api/api.ts'
import { ApiError, api, read } from '../api/client.ts'
import { useToast } from '../shell/toasts.tsx'
import { FileChange } from './file-change.tsx'
import { FoundServers } from './found-servers.tsx'
import { Failed } from './states.tsx'

/** A change of config.yaml in two steps: what it would do is shown, and then only that is written. */
export function useConfigChange(onWritten?: (written: ConfigPreviewView) => void) {
  const client = useQueryClient()
  const toast = useToast()
  const preview = useMutation({
    mutationFn: (changes: readonly ServerChangeInput[]) =>
      read(api.config.preview.$post({ json: { changes: [...changes] } })),
  })
  const apply = useMutation({
    mutationFn: ({ changes, hash }: { readonly changes: readonly ServerChangeInput[]; readonly hash: string }) =>
      read(api.config.apply.$post({ json: { changes: [...changes], hash, via: 'web' } })),
    onSuccess: (written) => {
      toast('config.yaml is written. It is in force within a second.')
      reset()
      void client.invalidateQueries({ queryKey: ['agents'] })
      onWritten?.(written)
    },
  })
  const reset = (): void => {
    preview.reset()
    apply.reset()
  }
  return {
    preview,
    apply,
    reset,
    /** Reads the file again: what was shown before cannot be written any more. */
    show: (changes: readonly ServerChangeInput[]): void => {
      apply.reset()
      preview.mutate(changes)
    },
  }
}

export type ConfigChangeState = ReturnType<typeof useConfigChange>

/** The exact change, with the button that writes it. Nothing is shown before `show` was called. */
export function ConfigChange({ change }: { readonly change: ConfigChangeState }) {
  const { preview, apply, reset, show } = change
  const { data: shown, variables: changes, error } = preview
  if (error) return <Failed error={error} onRetry={() => changes && show(changes)} />
  if (changes === undefined) return null
  if (shown === undefined) return <p role="status">Reading config.yaml…</p>
  const isConflict = apply.error instanceof ApiError && apply.error.status === 409
  return (
    <section className="stack-s" aria-label="Change of config.yaml">
      <FileChange file="config.yaml" preview={shown} />
      {shown.imported && <FoundServers found={shown.imported} />}
      {apply.error && <Failed error={apply.error} />}
      <div className="actions">
        {isConflict ? (
          <button className="btn btn-primary" type="button" onClick={() => show(changes)}>
            Show the change again
          </button>
        ) : (
          <button
            className="btn btn-primary"
            type="button"
            disabled={shown.diff.length === 0 || apply.isPending}
            onClick={() => apply.mutate({ changes, hash: shown.hash })}
          >
            {apply.isPending ? 'Writing…' : 'Write to config.yaml'}
          </button>
        )}
        <button className="btn btn-ghost" type="button" onClick={reset}>
          Cancel
        </button>
      </div>
    </section>
  )
}
