import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, panic, read } from '../api/client.ts'
import type { Mode } from '../parts/signs.tsx'
import { useToast } from './toasts.tsx'

/** From the most open to the strictest, with what each allows. */
export const MODES: readonly (readonly [mode: Mode, text: string])[] = [
  ['NORMAL', 'what the rules of each tool allow'],
  ['DEGRADED', 'tools of low and medium risk'],
  ['ALERT', 'tools of low risk'],
  ['RECOVERY', 'READ tools'],
  ['LOCKDOWN', 'essential READ tools, each with approval'],
]

const strictnessOf = (mode: Mode): number => MODES.findIndex(([name]) => name === mode)

export const isLessStrict = (to: Mode, from: Mode): boolean => strictnessOf(to) < strictnessOf(from)

export function useModeChange() {
  const client = useQueryClient()
  const toast = useToast()
  return useMutation({
    mutationFn: ({ mode, why }: { readonly mode: Mode; readonly why?: string }) =>
      read(api.mode.$put({ json: { mode, via: 'web', ...(why && { why }) } })),
    onSuccess: ({ mode }) => {
      void client.invalidateQueries({ queryKey: ['mode'] })
      toast(`${mode} is in force`)
    },
  })
}

/** Without a question before it: undoing it takes one sentence, and waiting may cost more. */
export function usePanic() {
  const client = useQueryClient()
  return useMutation({ mutationFn: panic, onSuccess: () => client.invalidateQueries({ queryKey: ['mode'] }) })
}
