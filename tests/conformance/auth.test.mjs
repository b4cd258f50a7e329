// The accounts of a platform that confirms them at once, as the default is: all themes in one process.
import './auth-sessions.test.mjs'
import './auth-user.test.mjs'
import './auth-refusals.test.mjs'
import './auth-admin.test.mjs'
import './auth-project.test.mjs'
import './auth-at-once.test.mjs'
import './auth-switched-off.test.mjs'
