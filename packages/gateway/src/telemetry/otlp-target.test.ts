import { describe, expect, it } from 'vitest'
import { createSampler } from './otlp.ts'
import { resolveOtlpTarget } from './otlp-target.ts'

const CONFIGURED = { endpoint: 'http://collector:4318', headers: { authorization: 'Bearer config' } }
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example/base/' }

describe('where telemetry is sent', () => {
  it('is undefined unless the config or a variable names an endpoint', () => {
    expect(resolveOtlpTarget(undefined, {})).toBeUndefined()
    expect(resolveOtlpTarget(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' })).toBeUndefined()
    expect(resolveOtlpTarget(undefined, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a' })).toBeUndefined()
  })

  it('comes from the config, with its headers and not those of a variable', () => {
    const target = resolveOtlpTarget(CONFIGURED, { ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret' })
    expect(target).toMatchObject({ source: 'config', headers: CONFIGURED.headers })
    expect(target?.traces?.href).toBe('http://collector:4318/v1/traces')
    expect(target?.metrics?.href).toBe('http://collector:4318/v1/metrics')
  })

  it('comes from the standard variables if it is not in the config', () => {
    const headers = 'Api-Key=a%20b , x=1=2,nonsense'
    const times = {
      OTEL_BSP_SCHEDULE_DELAY: '7',
      OTEL_METRIC_EXPORT_INTERVAL: 'never',
      OTEL_EXPORTER_OTLP_TIMEOUT: '-1',
    }
    const target = resolveOtlpTarget(undefined, { ...ENDPOINT, ...times, OTEL_EXPORTER_OTLP_HEADERS: headers })
    expect(target?.traces?.href).toBe('https://otel.example/base/v1/traces')
    expect(target).toMatchObject({
      source: 'environment',
      headers: { 'api-key': 'a b', x: '1=2' },
      traceDelay: 7,
      metricInterval: 60_000,
      timeout: 10_000,
    })
  })

  it('gets the traces that the named sampler selects, and all of them if the sampler is unknown', () => {
    const samplerOf = (environment: Record<string, string>) => resolveOtlpTarget(CONFIGURED, environment)?.sampler
    expect(samplerOf({})).toEqual({ name: 'parentbased_always_on', ratio: 1 })
    const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' }
    expect(samplerOf(ratio)).toEqual({ name: 'parentbased_traceidratio', ratio: 0.25 })
    expect(samplerOf({ OTEL_TRACES_SAMPLER_ARG: '7' })?.ratio).toBe(1)
    const describe = (name: string) => createSampler({ name, ratio: 0.25 }).toString()
    expect(describe('always_off')).toBe('AlwaysOffSampler')
    expect(describe('always_on')).toBe('AlwaysOnSampler')
    expect(describe('traceidratio')).toBe('TraceIdRatioBased{0.25}')
    expect(describe('parentbased_always_off')).toContain('root=AlwaysOffSampler')
    expect(describe('nonsense')).toContain('root=AlwaysOnSampler')
  })

  it('can be switched off as in the specification', () => {
    expect(resolveOtlpTarget(CONFIGURED, { OTEL_SDK_DISABLED: 'True' })).toBeUndefined()
    const half = resolveOtlpTarget(CONFIGURED, { OTEL_TRACES_EXPORTER: 'none' })
    expect([half?.traces, half?.metrics?.pathname]).toEqual([undefined, '/v1/metrics'])
  })

  it.each(['collector:4318', 'ftp://user:hush@collector', ''])(
    'is refused if it is not an HTTP URL: %s',
    (endpoint) => {
      expect(() => resolveOtlpTarget({ endpoint, headers: {} }, {})).toThrow('not a valid http or https URL')
      expect(() => resolveOtlpTarget({ endpoint, headers: {} }, {})).not.toThrow('hush')
    },
  )

  it('is refused if a variable asks for gRPC, or has invalid headers', () => {
    expect(() => resolveOtlpTarget(undefined, { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow(
      'http/json only',
    )
    expect(() => resolveOtlpTarget(undefined, { ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' })).toThrow(
      'OTEL_EXPORTER_OTLP_HEADERS',
    )
  })
})
