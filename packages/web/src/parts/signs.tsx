import type { ReactNode } from 'react'
import type { ModeView, SessionView, ToolView } from '../../../gateway/src/serve/api/api.ts'

export type Mode = ModeView['mode']
type Risk = ToolView['risk']
type Permission = ToolView['permission'][number]
type Sensitivity = SessionView['sensitivity']

export type VerdictKind = 'allow' | 'ask' | 'deny' | 'would' | 'failed' | 'expired' | 'running' | 'off'

const ARCH = 'M2 14.2V8a6 6 0 0 1 12 0v6.2M.8 14.2h14.4'
/** How far the portcullis is down is the mode. */
const BARS: Readonly<Record<Mode, string>> = {
  NORMAL: 'M5.6 3.7V4.6M8 3V4.6M10.4 3.7V4.6',
  DEGRADED: 'M5.6 3.7V7M8 3V7M10.4 3.7V7',
  ALERT: 'M5.6 3.7V9.2M8 3V9.2M10.4 3.7V9.2M3.2 7.2h9.6',
  RECOVERY: 'M5.6 3.7V11.6M8 3V11.6M10.4 3.7V11.6M3.2 6.4h9.6M3.2 9.6h9.6',
  LOCKDOWN: 'M5.6 3.7V14M8 3V14M10.4 3.7V14M3.2 6h9.6M3.2 9h9.6M3.2 12h9.6',
}

export const Gate = ({ mode }: { readonly mode: Mode }) => (
  <svg className="gate" viewBox="0 0 16 16" aria-hidden="true">
    <path d={`${ARCH}${BARS[mode]}`} />
  </svg>
)

export const EmptyDoor = () => (
  <svg className="art" viewBox="0 0 16 16" aria-hidden="true">
    <path strokeWidth=".5" d={`${ARCH}M5.2 14.2V9a2.8 2.8 0 0 1 5.6 0v5.2`} />
  </svg>
)

export const Brand = () => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <rect className="brand-bg" width="32" height="32" rx="7" />
    <path className="brand-arch" d="M7 26V15a9 9 0 0 1 18 0v11h-4V15a5 5 0 0 0-10 0v11z" />
    <path className="brand-gate" d="M14 26v-9a2 2 0 0 1 4 0v9z" />
  </svg>
)

const LINE = { fill: 'none', stroke: 'currentColor', strokeWidth: 1.5, strokeLinecap: 'round' } as const

/** Each verdict has a shape and a word, not only a colour. */
const VERDICT_SHAPES: Readonly<Record<VerdictKind, ReactNode>> = {
  allow: (
    <>
      <circle cx="8" cy="8" r="6.6" {...LINE} />
      <path d="m5 8.3 2.1 2.1L11 6" {...LINE} />
    </>
  ),
  ask: (
    <>
      <path d="M8 .8 15.2 8 8 15.2.8 8z" fill="currentColor" />
      <path
        className="knock"
        fill="none"
        strokeWidth="1.5"
        strokeLinecap="round"
        d="M6.3 6.4a1.8 1.8 0 1 1 2.7 1.5c-.7.4-1 .7-1 1.3M8 11.3h.01"
      />
    </>
  ),
  deny: (
    <>
      <path d="M5 .9h6L15.1 5v6L11 15.1H5L.9 11V5z" fill="currentColor" />
      <path className="knock" fill="none" strokeWidth="1.8" strokeLinecap="round" d="m5.4 5.4 5.2 5.2m0-5.2-5.2 5.2" />
    </>
  ),
  would: <path {...LINE} strokeLinejoin="round" d="M8 1.6 15 14.4H1zM8 6v4M8 12.2h.01" />,
  failed: (
    <>
      <circle cx="8" cy="8" r="6.6" {...LINE} strokeDasharray="3 2.2" />
      <path d="M8 4.5V9M8 11.4h.01" {...LINE} />
    </>
  ),
  expired: (
    <>
      <circle cx="8" cy="8" r="6.6" {...LINE} />
      <path d="M8 4.3V8l2.4 1.6" {...LINE} />
    </>
  ),
  running: <circle cx="8" cy="8" r="6.6" {...LINE} strokeDasharray="1 3" />,
  off: <path d="M5 8h6" {...LINE} />,
}

export const VerdictMark = ({
  kind,
  className = 'mark',
}: {
  readonly kind: VerdictKind
  readonly className?: string
}) => (
  <svg className={`${className} v-${kind}`} viewBox="0 0 16 16" aria-hidden="true">
    {VERDICT_SHAPES[kind]}
  </svg>
)

export const Verdict = ({ kind }: { readonly kind: VerdictKind }) => (
  <span className={`v v-${kind} ${kind === 'allow' || kind === 'running' ? 'quiet' : ''}`}>
    <VerdictMark kind={kind} className="" />
    <span>{kind}</span>
  </span>
)

const RISKS: readonly Risk[] = ['low', 'medium', 'high']
const RISK_BARS = ['M0 7h3v5H0z', 'M5 3.5h3V12H5z', 'M10 0h3v12h-3z'] as const

export const RiskSign = ({ risk }: { readonly risk: Risk }) => (
  <span className={`risk risk-${risk}`}>
    <svg viewBox="0 0 13 12" aria-hidden="true">
      {RISK_BARS.map((bar, index) => (
        <path key={bar} d={bar} className={index > RISKS.indexOf(risk) ? 'off' : ''} />
      ))}
    </svg>
    <span className="vh">risk: </span>
    {risk}
  </span>
)

const PERMISSION_CELLS = [
  ['READ', 'R', ''],
  ['WRITE', 'W', 'w'],
  ['CONNECT', 'C', 'c'],
] as const satisfies readonly (readonly [Permission, string, string])[]

export const PermissionSign = ({ permission }: { readonly permission: readonly Permission[] }) => (
  <span className="perm" role="img" aria-label={permission.join(', ') || 'no permission'} title={permission.join(', ')}>
    {PERMISSION_CELLS.map(([name, letter, style]) => (
      <span key={name} className={permission.includes(name) ? `on ${style}` : ''}>
        {permission.includes(name) ? letter : '·'}
      </span>
    ))}
  </span>
)

export const SENSITIVITY_LEVELS: readonly Sensitivity[] = ['PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'SECRET']
const RUNG_TOPS = [13, 8.6, 4.3, 0] as const

export const LabelSign = ({ level }: { readonly level: Sensitivity }) => (
  <span className={`label label-${level}`}>
    <svg viewBox="0 0 14 16" aria-hidden="true">
      {RUNG_TOPS.map((y, index) => (
        <rect
          key={y}
          y={y}
          width="14"
          height="3"
          rx="1"
          className={index > SENSITIVITY_LEVELS.indexOf(level) ? 'off' : ''}
        />
      ))}
    </svg>
    {level}
  </span>
)
