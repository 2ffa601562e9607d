// DATA_DIR's own records: whether the service could start with the files, and they match the
// settings.

import type { Config } from '../config.ts'
import { refuseOtherStore, storeNameOf } from '../core/measurement-store.ts'
import { openBeside } from '../data-dir/open-beside.ts'
import { isUpgradeDue } from '../data-dir/upgrade.ts'
import { grouped } from '../domain/grouped.ts'
import { FilesAtRest } from '../sqlite/verify/files-at-rest.ts'
import { Check, reasonOf, VERIFY } from './check.ts'
import type { CheckResult } from './check.ts'

const dataCheck = new Check('data')

export async function checkData(config: Config): Promise<readonly CheckResult[]> {
  const { dataDir } = config
  try {
    if (await isUpgradeDue(dataDir)) {
      const remedy =
        'restart the service, or see `thermolog database migrate`: a backup comes first'
      return [dataCheck.warning('the files have the format of an older version', remedy)]
    }
    const files = new FilesAtRest(dataDir)
    files.close()
    if (files.findings.length === 0) return [await checkControl(config)]
    return files.findings.map(({ where, problem, remedy }) => {
      return dataCheck.wrong(`${where}: ${problem}`, remedy)
    })
  } catch (error) {
    return [dataCheck.wrong(reasonOf(error), VERIFY)]
  }
}

/** @throws Error if it cannot be read, or names another store than the settings */
async function checkControl(config: Config): Promise<CheckResult> {
  const beside = openBeside(config.dataDir)
  try {
    await refuseOtherStore(config, beside.store)
    const setAside = await beside.control.countSetAside()
    if (setAside === 0) return dataCheck.ok(`measurements are kept: ${storeNameOf(config)}`)
    const refused = `${grouped(setAside)} measurements were refused by the measurement store`
    return dataCheck.warning(refused, 'see `thermolog journal list`')
  } finally {
    beside.close()
  }
}
