/** The modes of a deployment. Exactly one is active at a time. */
export const MODES = ['NORMAL', 'ALERT', 'DEGRADED', 'LOCKDOWN', 'RECOVERY'] as const

export type Mode = (typeof MODES)[number]

export const isMode = (value: unknown): value is Mode => MODES.some((mode) => mode === value)
