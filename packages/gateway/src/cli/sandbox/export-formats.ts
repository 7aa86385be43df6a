export const EXPORT_FORMATS = ['squid', 'envoy', 'docker-compose', 'k8s'] as const
export const ISOLATED_MODES = ['NONE', 'PROXIED'] as const

/** The flags of `sandbox export`. */
export interface ExportFlags {
  readonly to: (typeof EXPORT_FORMATS)[number]
  readonly server?: string
  /** `server=image`. */
  readonly image?: readonly string[]
  readonly isolated?: (typeof ISOLATED_MODES)[number]
}
