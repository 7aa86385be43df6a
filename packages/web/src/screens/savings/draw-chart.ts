import uPlot from 'uplot'
import { formatShort } from '../../parts/format.ts'
import type { Bucket } from './buckets.ts'

const HEIGHT = 220
const MAX_BAR_WIDTH = 44
/** Labels of the axis need about this much room. */
const LABEL_WIDTH = 62
const HATCH_STEP = 6

/** Draws stacked bars until the returned function is called. `onPoint`: the bar under the pointer. */
export function drawChart(
  holder: HTMLElement,
  buckets: readonly Bucket[],
  onPoint: (index: number | undefined) => void,
): () => void {
  const chart = new uPlot(buildOptions(holder, buckets, onPoint), stack(buckets), holder)
  const resizing = new ResizeObserver(() => chart.setSize({ width: holder.clientWidth, height: HEIGHT }))
  resizing.observe(holder)
  const redraw = (): void => chart.redraw()
  const dark = matchMedia('(prefers-color-scheme: dark)')
  dark.addEventListener('change', redraw)
  const theme = new MutationObserver(redraw)
  theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => {
    resizing.disconnect()
    theme.disconnect()
    dark.removeEventListener('change', redraw)
    chart.destroy()
  }
}

/** Each series on top of those before it; the highest is drawn first. Without a value, nothing is drawn. */
function stack(buckets: readonly Bucket[]): uPlot.AlignedData {
  const drawn = (value: number): number | null => (value === 0 ? null : value)
  return [
    buckets.map((_, index) => index),
    buckets.map(({ shaped, selected, isolated }) => drawn(shaped + selected + isolated)),
    buckets.map(({ shaped, selected }) => drawn(shaped + selected)),
    buckets.map(({ shaped }) => drawn(shaped)),
  ]
}

function buildOptions(
  holder: HTMLElement,
  buckets: readonly Bucket[],
  onPoint: (index: number | undefined) => void,
): uPlot.Options {
  const color = (name: string) => () => readColor(holder, name)
  const bars = uPlot.paths.bars?.({ size: [0.6, MAX_BAR_WIDTH] })
  const series = (name: string, fill: uPlot.Series.Fill): uPlot.Series => ({
    ...{ fill, points: { show: false }, stroke: color(name), width: 1 },
    ...(bars && { paths: bars }),
  })
  const axis = { stroke: color('--ink-3'), font: '11px sans-serif' }
  return {
    width: holder.clientWidth,
    height: HEIGHT,
    padding: [12, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { setScale: false, x: false, y: false } },
    scales: {
      x: { time: false, range: () => [-0.5, buckets.length - 0.5] },
      y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] },
    },
    series: [{}, series('--s1', color('--s3')), series('--s2', () => hatch(holder)), series('--s1', color('--s1'))],
    axes: [
      {
        ...axis,
        size: 30,
        grid: { show: false },
        ticks: { show: false },
        splits: (self) => chooseLabels(buckets.length, self.width),
        values: (_, splits) => splits.map((index) => buckets[index]?.label ?? ''),
      },
      {
        ...axis,
        size: 44,
        ticks: { show: false },
        grid: { stroke: color('--line'), width: 1 },
        values: (_, splits) => splits.map((value) => (Number.isInteger(value) ? formatShort(value) : '')),
      },
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)] },
  }
}

/** The last one has a label, and every so many before it. */
function chooseLabels(count: number, width: number): number[] {
  const step = Math.max(1, Math.ceil((count * LABEL_WIDTH) / Math.max(1, width)))
  return Array.from({ length: Math.ceil(count / step) }, (_, index) => count - 1 - index * step).toReversed()
}

/** A token such as `--s1` is one of two colors; what the browser computes is the one that holds now. */
function readColor(holder: HTMLElement, name: string): string {
  holder.style.setProperty('color', `var(${name})`)
  const color = getComputedStyle(holder).color
  holder.style.removeProperty('color')
  return color
}

/** Told apart without its color, too. */
function hatch(holder: HTMLElement): CanvasPattern | string {
  const tile = document.createElement('canvas')
  tile.width = HATCH_STEP
  tile.height = HATCH_STEP
  const context = tile.getContext('2d')
  const color = readColor(holder, '--s2')
  if (context === null) return color
  context.fillStyle = color
  context.fillRect(0, 0, HATCH_STEP, HATCH_STEP)
  context.strokeStyle = readColor(holder, '--surface')
  context.globalAlpha = 0.6
  context.beginPath()
  for (const start of [-HATCH_STEP, 0, HATCH_STEP]) {
    context.moveTo(start, HATCH_STEP)
    context.lineTo(start + HATCH_STEP, 0)
  }
  context.stroke()
  return context.createPattern(tile, 'repeat') ?? color
}
