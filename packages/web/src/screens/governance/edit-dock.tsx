import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import { ApiError, api, read } from '../../api/client.ts'
import { FileChange } from '../../parts/file-change.tsx'
import { formatCount } from '../../parts/format.ts'
import { Failed, Note } from '../../parts/states.tsx'
import { useIsPhone } from '../../parts/use-is-phone.ts'
import { MOD_KEY, useShortcuts } from '../../shell/shortcuts.ts'
import { useToast } from '../../shell/toasts.tsx'
import { ReplayEffect } from './replay-effect.tsx'
import { dropEdits, replaceEdits, toFileEdits, useRuleEdits } from './rule-edits.ts'

/** Edits that are not saved: exactly what would be written, what it would have done to recent calls, and one button. */
export function EditDock({ tools }: { readonly tools: readonly RuledTool[] }) {
  const all = useRuleEdits()
  const edits = toFileEdits(all, tools)
  const isPhone = useIsPhone()
  const [isOpen, open] = useState(!isPhone)
  const preview = useQuery({
    // In the topic of the file: what is shown is always the change of the file as it is now.
    queryKey: ['tools-file', 'preview', edits],
    queryFn: ({ signal }) => read(api['tools-file'].preview.$post({ json: { edits } }, { init: { signal } })),
    enabled: edits.length > 0,
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 0,
  })
  const save = useSave(edits, () => dropEdits(all))
  const { data: shown, isPlaceholderData, isFetching } = preview
  // What is read again may be another change than the one that is shown.
  const canSave = shown !== undefined && !isFetching && !preview.error && !save.isPending
  const saveShown = (): void => {
    if (canSave) save.mutate(shown.hash)
  }
  useShortcuts(edits.length > 0 ? [{ keys: 'mod+s', title: 'Save the edits', run: saveShown }] : [])
  if (edits.length === 0) return null
  const isConflict = save.error instanceof ApiError && save.error.status === 409
  return (
    <section className="panel dock" aria-label="Edits that are not saved">
      <header>
        <h2>{formatCount(edits.length, 'edit')}, not saved</h2>
        <span className="grow" />
        {isPhone && (
          <button className="btn btn-ghost btn-s" type="button" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
            {isOpen ? 'Hide the change' : 'Show the change'}
          </button>
        )}
        <button
          className="btn btn-ghost btn-s"
          type="button"
          disabled={save.isPending}
          onClick={() => {
            save.reset()
            replaceEdits(new Map())
          }}
        >
          Discard
        </button>
        <button
          className="btn btn-primary"
          type="button"
          disabled={!canSave || (isPhone && !isOpen)}
          onClick={saveShown}
        >
          {save.isPending ? 'Saving…' : 'Save to tools.yaml'} <kbd>{MOD_KEY} S</kbd>
        </button>
      </header>
      {isConflict && (
        <div className="dock-note" role="alert">
          <Note kind="ask">
            <strong>tools.yaml was changed meanwhile.</strong> Nothing was written, and your edits are still here. This
            is what they change in the new file: look at it again, then save.
          </Note>
        </div>
      )}
      {save.error && !isConflict && <Failed error={save.error} />}
      {preview.error && <Failed error={preview.error} onRetry={() => void preview.refetch()} />}
      {isOpen && (
        <div className="dock-body" aria-busy={isPlaceholderData}>
          {shown && !preview.error ? (
            <FileChange file="tools.yaml" preview={shown} />
          ) : (
            <p role="status">{preview.error ? '' : 'Reading tools.yaml…'}</p>
          )}
          {!preview.error && <ReplayEffect edits={edits} tools={tools} />}
        </div>
      )}
    </section>
  )
}

type FileEdits = ReturnType<typeof toFileEdits>

function useSave(edits: FileEdits, onSaved: () => void) {
  const client = useQueryClient()
  const toast = useToast()
  return useMutation({
    mutationFn: (hash: string) => read(api['tools-file'].apply.$post({ json: { edits, hash, via: 'web' } })),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['tools'] })
      onSaved()
      toast(`${formatCount(edits.length, 'edit')} saved to tools.yaml, and in force.`)
    },
    // After a refusal too: the file may be another one by now.
    onSettled: () => void client.invalidateQueries({ queryKey: ['tools-file'] }),
  })
}
