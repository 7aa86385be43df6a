import { type ReactNode, useEffect } from 'react'

interface PageProps {
  readonly title: ReactNode
  /** For the browser tab, where the title is not a plain string. */
  readonly tab?: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly crumb?: ReactNode
  readonly children: ReactNode
}

/** The frame of every screen: its heading, what it is for, and its actions. */
export function Page({ title, tab, lead, actions, crumb, children }: PageProps) {
  const name = tab ?? (typeof title === 'string' ? title : '')
  useEffect(() => {
    document.documentElement.dataset.screen = name
    document.dispatchEvent(new CustomEvent('screen-title', { detail: name }))
  }, [name])
  return (
    <div className="page">
      {crumb}
      <div className="page-head">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p>{lead}</p>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

interface PanelProps {
  readonly title: ReactNode
  readonly sub?: ReactNode
  readonly actions?: ReactNode
  readonly className?: string
  readonly children: ReactNode
}

export const Panel = ({ title, sub, actions, className = '', children }: PanelProps) => (
  <section className={`panel ${className}`}>
    <header>
      <h2>{title}</h2>
      <span className="sub grow">{sub}</span>
      {actions}
    </header>
    {children}
  </section>
)
