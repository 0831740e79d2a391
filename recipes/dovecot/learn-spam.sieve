# Runs when a message is moved or copied into Junk: learns it as spam.
require ["environment", "imapsieve", "variables", "vnd.dovecot.pipe", "copy"];

if environment :matches "imap.user" "*" {
  set "user" "${1}";
}
pipe :copy "priory-learn" ["spam", "${user}"];
