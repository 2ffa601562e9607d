// How people call the command line of this installation.

import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../', import.meta.url))
/** Packages of the system and of npm, and the image, put `thermolog` on PATH. */
const PACKAGED = /^\/usr\/|\/node_modules\//

/** In a checkout or an unpacked tarball it is called from its folder. */
export const OWN_COMMAND = PACKAGED.test(FOLDER) ? 'thermolog' : 'bin/thermolog'
