/** The states of a deployment, from the everyday one on. One is in force at a time. */
export const MODES = ['NORMAL', 'ALERT', 'DEGRADED', 'LOCKDOWN', 'RECOVERY'] as const

export type Mode = (typeof MODES)[number]

export const isMode = (value: unknown): value is Mode => MODES.some((mode) => mode === value)
