import type { Promised } from './promised.ts'

export const SENSITIVITY_PROMISES = {
  'SEN-1': {
    text: 'Sensitivity starts PUBLIC, only rises, is merged by maximum, and is durable before the result that raised it leaves',
    state: 'partial',
    missing: 'replicas',
  },
  'SEN-2': {
    text: 'A label is raised by the entry of a server or a tool, by sensitive_paths, by what a trusted server says, by detectors in results, and by an operator',
    state: 'built',
  },
  'SEN-3': {
    text: 'Nothing lowers a label: a session ends, and the next one starts PUBLIC; an operator can end one, and that is recorded',
    state: 'built',
  },
  'SEN-4': {
    text: 'Lists never depend on the label; it acts on calls, with an error that says what happened and what can be done instead',
    state: 'built',
  },
  'SEN-5': {
    text: 'After that, calls that reach out are refused before they are sent, except to isolated instances, allowed hosts, and servers in sandboxes, whose network is narrowed',
    state: 'built',
  },
  'SEN-6': {
    text: 'A refusal names what can be done instead, and each of these ways works',
    state: 'built',
  },
  'SEN-10': {
    text: 'What leaves a sandbox goes through a proxy that resolves each name once, contacts only the address it has checked, compares TLS and HTTP with the host it was asked for, cuts open connections when the policy narrows, and reports each decision with the traces of the calls in flight; an error of a call names the connections that failed meanwhile; a port inside can carry raw TCP to a host under the same rules',
    state: 'built',
  },
  'SEN-19': {
    text: 'A server with identity: forward that declares it is told with every request who calls, by a short-lived signed token for it alone; a server of the kit verifies it, and without one acts for nobody',
    state: 'partial',
    missing: 'one set of keys for replicas',
  },
  'SEN-20': {
    text: 'What a trusted server says of private data raises the session in the gateway before its result is released, and every later caller token says so to all servers; no restart forgets it',
    state: 'partial',
    missing: 'replicas',
  },
  'SEN-21': {
    text: 'A server that is told that the gateway shapes returns its result whole and names a preset; the gateway shapes, stores and pages: one reader, one handle',
    state: 'built',
  },
  'SEN-22': {
    text: 'A server of the kit gives the same answers about files, results and labels of two users, alone and behind the gateway, shared or not, over stdio and HTTP, and after kills',
    state: 'built',
  },
  'SEN-23': {
    text: 'Stored results, and files that handlers of kit servers write while their session is private, are encrypted with a key of the session, which is outside of the state folder; the key is destroyed and what the session stored is removed, also at kit servers, when it is purged, or after its retention; what its programs in sandboxes share is in memory, and removed when it ends',
    state: 'partial',
    missing:
      'files that programs of a kit server write into its workspace by their path; workspaces of sandboxes on disk; retention of the files of a kit server without a gateway, other than results',
  },
  'SEN-11': {
    text: 'Drivers isolate a program behind one small interface; bubblewrap is one of them, for root and for ordinary users; docker and podman run programs and images in containers',
    state: 'partial',
    missing: 'gVisor, macOS, engines on other machines',
  },
  'SEN-12': {
    text: 'A sandbox is checked from outside before anything runs in it, and nothing runs where sandboxes do not work: the message quotes what was tried, and says what helps. A server that refuses the sandbox that is the default is recorded, and ends before its session gets private data',
    state: 'built',
  },
  'SEN-13': {
    text: 'Inside, the system is read-only, /tmp is private, the folder of the session is at /workspace and ends with it, further files are named, the environment is empty, no descriptor is inherited, system calls are filtered, and memory and processes are limited',
    state: 'partial',
    missing: 'limits for all processes together where control groups cannot be used',
  },
  'SEN-14': {
    text: 'Stopping a sandbox resolves when nothing inside is alive; nothing survives the death of its parent, containers included, and the next start removes what a crash of the machine left',
    state: 'built',
  },
  'SEN-17': {
    text: 'sandbox export writes the same policy for deployments: Squid, Envoy, Docker Compose and Kubernetes; each says what it covers and what it does not',
    state: 'partial',
    missing: 'a Kubernetes cluster and an engine of containers that run the exported files in a test',
  },
  'SEN-18': {
    text: 'run-sandboxed runs any program, or the program of an image, in a network mode, with its own streams, signals and exit code',
    state: 'built',
  },
  'SEN-15': {
    text: 'A server with url_isolated has two instances, both connected from the start; calls of sessions with private data go to the isolated one only, and differences of their tools are reported',
    state: 'built',
  },
  'SEN-7': {
    text: 'A server in a sandbox has a network of its own that leads only to the egress proxy: a label that rises changes the policy of the proxy, and the process and its state live on',
    state: 'built',
  },
  'SEN-8': {
    text: 'A server that needs it has the network of this machine, inside its sandbox, until its session holds private data: then its process ends before anything of the session is sent or released, and a narrowed one takes its place, which is started meanwhile; it sees the same workspace, and is told log level, roots and subscriptions again',
    state: 'built',
  },
  'SEN-9': {
    text: 'When a label has risen, every sandbox of the session is narrowed and its forbidden connections are ended before the result is released or the next call is admitted',
    state: 'built',
  },
  'SEN-16': {
    text: 'Tests prove what sandboxes and containers let through with a second network as the internet, which says what has arrived, and with the real programs that isolate; programs that try to break out are refused or limited',
    state: 'built',
  },
  'SEN-24': {
    text: 'A server in a sandbox has a process for each session',
    state: 'built',
  },
} as const satisfies Record<string, Promised>
