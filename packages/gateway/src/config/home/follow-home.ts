import type { Environment } from '../reading/environment.ts'
import { type ReloadOptions, SettingsReload } from './settings-reload.ts'
import { type WatchOptions, watchSettings } from './watch-settings.ts'

export interface FollowOptions extends Omit<ReloadOptions, 'askEvery'>, Pick<WatchOptions, 'current'> {
  readonly environment: Environment
  readonly profilesInForce: NonNullable<WatchOptions['profilesInForce']>
}

/** Applies every change of a home's settings until it is closed. ToolsEditor watches tools.yaml itself. */
export function followHome({ home, state, gateway, ...watching }: FollowOptions): { close(): Promise<void> } {
  const reload = new SettingsReload({ home, state, gateway })
  const watch = watchSettings({ ...watching, home: home.path, onChange: (change) => void reload.apply(change) })
  return {
    close: async () => {
      await watch.close()
      reload.close()
    },
  }
}
