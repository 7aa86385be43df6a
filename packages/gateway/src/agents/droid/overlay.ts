import { join } from 'node:path'
import { namedFolder } from '../agent-folders.ts'
import type { AgentOverlay } from '../agent-overlay.ts'
import { byName, createOverlay, folderFrom, settingsWith } from '../overlay-parts.ts'
import { drivenBy, filesWithServers, projectFiles, type SourceSearch } from '../server-sources.ts'

const FILE = 'mcp.json'
const SHARED = '.factory'

/** A home of its own with everything of the user's linked but the file of the servers. */
export const droidOverlay: AgentOverlay = {
  reserved: [],
  reservedCommands: ['daemon', 'computer'],
  stays: ['project'],
  sources: [
    { name: 'file of the user', state: 'closed', means: '`FACTORY_HOME_OVERRIDE`' },
    projectFiles('`.factory/mcp.json`'),
    {
      name: 'plugins',
      state: 'refused',
      means: '`mcp.json` of an installed plugin',
      find: pluginsWithServers,
    },
    drivenBy('--input-format', 'acp', 'acp-daemon'),
    { name: 'its organization', state: 'open', means: 'servers and connectors that Factory hands out' },
  ],
  entry: (window) => ({ type: 'stdio', ...window, disabled: false }),
  overlay: (request) =>
    createOverlay({
      args: request.args,
      environment: { FACTORY_HOME_OVERRIDE: join(request.folder, 'home') },
      files: { [`home/${SHARED}/${FILE}`]: settingsWith(request, 'mcpServers', byName(request.servers)) },
      mirrors: [
        {
          source: join(folderFrom(request, 'FACTORY_HOME_OVERRIDE', '.'), SHARED),
          path: `home/${SHARED}`,
          except: [FILE],
        },
      ],
    }),
}

async function pluginsWithServers({ place, folders }: SourceSearch): Promise<readonly string[]> {
  const homes = [join(namedFolder(place, 'FACTORY_HOME_OVERRIDE'), SHARED), ...folders.map((one) => join(one, SHARED))]
  const wish = { key: 'mcpServers', files: /\.json$/, depth: 6 }
  return (await Promise.all(homes.map((home) => filesWithServers(join(home, 'plugins'), wish)))).flat()
}
