import './figures.css'

interface Figure {
  readonly name: string
  readonly value: string
  /** If `value` is rounded. */
  readonly exact?: string
  readonly note?: string
}

interface FiguresProps {
  readonly label: string
  readonly figures: readonly Figure[]
}

/** A few numbers beside each other. */
export const Figures = ({ label, figures }: FiguresProps) => (
  <section className="panel" aria-label={label}>
    <dl className="figures">
      {figures.map(({ name, value, exact, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd title={exact}>
            {value} <small>{note}</small>
          </dd>
        </div>
      ))}
    </dl>
  </section>
)
