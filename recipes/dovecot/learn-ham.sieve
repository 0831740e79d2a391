# Runs when a message is moved or copied out of Junk or Unsure: learns it as ham, unless it was moved to the trash, or to
# the other of these two folders.
require ["environment", "imapsieve", "variables", "vnd.dovecot.pipe", "copy"];

if environment :matches "imap.mailbox" ["Trash", "Trash/*", "Deleted", "Deleted Items", "Deleted Messages", "INBOX.Trash"] {
  stop;
}
if environment :is "imap.mailbox" ["Junk", "Unsure"] {
  stop;
}
if environment :matches "imap.user" "*" {
  set "user" "${1}";
}
pipe :copy "priory-learn" ["ham", "${user}"];
