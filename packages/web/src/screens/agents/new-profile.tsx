import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useNavigate, useSearchParams } from 'react-router'
import type { Agent } from '../../api/queries.ts'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Failed } from '../../parts/states.tsx'
import { type Profiles, saveProfile } from './agents-queries.ts'

/** Creates a profile that selects all tools; the tools are chosen in its form. */
export function NewProfile({ agents, profiles }: { readonly agents: readonly Agent[]; readonly profiles: Profiles }) {
  const [search, setSearch] = useSearchParams()
  const usable = agents.filter(({ supportsMcp }) => supportsMcp)
  const agent = search.get('agent') ?? usable[0]?.id ?? ''
  const [variant, setVariant] = useState('')
  const client = useQueryClient()
  const navigate = useNavigate()
  const isTaken = profiles.profiles.some(({ name }) => name === `${agent}.${variant.trim().toLowerCase()}`)
  const creating = useMutation({
    mutationFn: async () => {
      const conflict = await saveProfile({ agent, variant: variant.trim() }, {}, undefined)
      if (conflict) throw new Error(`Somebody else has created ${agent}.${variant.trim()} meanwhile.`)
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['profiles'] }),
    onSuccess: () => navigate(`/agents/${encodeURIComponent(`${agent}.${variant.trim().toLowerCase()}`)}`),
  })
  const create = (event: FormEvent): void => {
    event.preventDefault()
    creating.mutate()
  }
  return (
    <form className="panel pad new-profile" onSubmit={create}>
      <SelectField
        label="Agent"
        value={agent}
        onChange={(id) => setSearch({ agent: id }, { replace: true })}
        options={usable.map(({ id, title }) => ({ value: id, text: title }))}
      />
      <TextField
        label="Name"
        required
        maxLength={300}
        placeholder="reviewer"
        value={variant}
        onChange={setVariant}
        help={
          isTaken
            ? `${agent}.${variant.trim()} exists already: choose another name, or open it on the left.`
            : 'What this variant of the agent is for. It begins with all tools; choose them in the next step.'
        }
      />
      {creating.error && <Failed error={creating.error} />}
      <div className="actions">
        <button
          className="btn btn-primary"
          type="submit"
          disabled={creating.isPending || isTaken || variant.trim() === ''}
        >
          {creating.isPending ? 'Creating…' : 'Create and choose tools'}
        </button>
      </div>
    </form>
  )
}
