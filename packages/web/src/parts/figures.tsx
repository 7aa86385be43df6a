import './figures.css'

interface Figure {
  readonly name: string
  readonly value: string
  /** If `value` is rounded. */
  readonly exact?: string
  readonly note?: string
  /** How it came about, oldest first; drawn as a line. */
  readonly course?: readonly number[]
}

interface FiguresProps {
  readonly label: string
  readonly figures: readonly Figure[]
}

/** A few numbers beside each other. */
export const Figures = ({ label, figures }: FiguresProps) => (
  <section className="panel" aria-label={label}>
    <dl className="figures">
      {figures.map(({ name, value, exact, note, course }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd title={exact}>
            {value} <small>{note}</small>
          </dd>
          {course && course.length > 1 && <Sparkline values={course} />}
        </div>
      ))}
    </dl>
  </section>
)

const [WIDTH, HEIGHT] = [100, 24]

function Sparkline({ values }: { readonly values: readonly number[] }) {
  const max = Math.max(...values, 1)
  const step = WIDTH / (values.length - 1)
  const points = values.map(
    (value, index) => `${(index * step).toFixed(1)} ${(HEIGHT - 1 - (value / max) * (HEIGHT - 3)).toFixed(1)}`,
  )
  const line = `M${points.join('L')}`
  return (
    <svg className="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path className="area" d={`${line}V${HEIGHT}H0z`} />
      <path d={line} />
    </svg>
  )
}
