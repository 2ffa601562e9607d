// How people call the command line of this installation.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const LAUNCHER = 'bin/thermolog'
const FOLDER = fileURLToPath(new URL('../../', import.meta.url))
/** Packages of the system and of npm put `thermolog` on PATH; the image has no launcher. */
const PACKAGED = /^\/usr\/|\/node_modules\//

/** In a checkout or an unpacked tarball it is called from its folder. */
export const OWN_COMMAND =
  existsSync(FOLDER + LAUNCHER) && !PACKAGED.test(FOLDER) ? LAUNCHER : 'thermolog'
