/** In the folder of a run, what its windows prove themselves with: a file, since command lines and environments are seen. */
export const LAUNCH_TOKEN_FILE = 'token'
