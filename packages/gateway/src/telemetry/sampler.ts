import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'
import type { OtlpTarget } from './otlp-target.ts'

const PARENT_BASED = 'parentbased_'

/** By the names of the specification. One that it does not know counts as not given. */
export function createSampler({ name, ratio }: OtlpTarget['sampler']): Sampler {
  if (name === 'always_on' || name === 'always_off' || name === 'traceidratio') return rootSampler(name, ratio)
  const root = name.startsWith(PARENT_BASED) ? name.slice(PARENT_BASED.length) : 'always_on'
  return new ParentBasedSampler({ root: rootSampler(root, ratio) })
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler()
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler()
}
